"""`python -m plumbline` does what `plumbline` does."""

from plumbline.start import main

main()
