"""The addresses of figures and tables as files, in the order in which they are resolved."""

from judging.api.files.of_benchmarks import OF_BENCHMARKS
from judging.api.files.of_judges import OF_JUDGES
from judging.api.files.of_studies import OF_STUDIES

FILE_ADDRESSES = [*OF_STUDIES, *OF_JUDGES, *OF_BENCHMARKS]
