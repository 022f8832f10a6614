"""Plumbline as it is installed: the program `plumbline`, with the project's own packages in the folder `project`."""
