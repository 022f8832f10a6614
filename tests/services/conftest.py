from tests.services.test_runs import database, processes, rows, server

__all__ = ["database", "processes", "rows", "server"]
