"""Load a clone of HelloBench's repository: load_benchmark under its other name."""

from django.core.management.base import CommandParser

from judging.management.commands.load_benchmark import Command as LoadBenchmark


class Command(LoadBenchmark):
    help = (
        "Load a clone of HelloBench's repository: instructions, checklists, responses, GPT-4o's verdicts and the "
        "published weights. Loading it again changes nothing. The same as load_benchmark hellobench."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.set_defaults(benchmark="hellobench")
        self.add_files(parser)
