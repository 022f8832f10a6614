"""Whether this worker process is about to end: what takes long stops at the next good moment and leaves the rest in rows."""

import threading

leaving = threading.Event()
"""Set when the process was asked to end, or has grown beyond its memory; never set in a command or a web server."""
