from tests.judging.runs.test_services import database, processes, rows, server

__all__ = ["database", "processes", "rows", "server"]
