"""Why an upload of a benchmark cannot be loaded, and what to do about it."""

from core.messages.message import Wording

NO_FILE = Wording("archive.no_file", "%(archive)s holds no file; pack the benchmark's folder.")
MANY_FILES = Wording("archive.many_files", "%(archive)s holds more than %(most)s files; leave out what is not needed.")
TWICE = Wording("archive.twice", "is in it twice")
NOT_WRITTEN = Wording("archive.not_written", "cannot be written (%(words)s)")
LEADS_OUT = Wording(
    "archive.leads_out", "%(archive)s: the path %(name)s leads out of the archive; pack the folder again."
)
DAMAGED = Wording("archive.damaged", "%(archive)s is damaged or no archive of its kind; pack it again.")
PACK_AGAIN = Wording("archive.pack_again", "%(archive)s: %(name)s %(what)s; pack the folder again.")
NO_ARCHIVE = Wording(
    "archive.no_archive", "%(archive)s is no archive that can be read; pack it as %(one)s or %(other)s."
)
PASSWORD = Wording("archive.password", "%(archive)s is protected by a password; pack it without one.")
UNPACKS_TO = Wording(
    "archive.unpacks_to",
    "%(archive)s unpacks to more than %(most)s MB; leave out what is not needed, or ask the person who runs this server to "
    "load the folder.",
)
NO_EXPERIMENT = Wording("archive.no_experiment", "These files have no experiment %(experiment)s; they have: %(known)s.")
CORRECT_OR_SKIP = Wording("archive.correct_or_skip", "correct it, or leave out the bad rows")
NOT_TAKEN_BACK = Wording(
    "archive.not_taken_back", "%(problem)s What was loaded before it stays, because it is in use by now: %(why)s"
)
CORRECT_CATEGORY = Wording("archive.correct_category", "correct it to one of its categories, such as %(category)s")
NO_READER = Wording("archive.no_reader", "There is no reader for benchmark %(slug)s; there are: %(known)s.")
FAULT = Wording("archive.fault", "The program has a fault here, which is in its log.")
STILL_LOADING = Wording(
    "archive.still_loading", "%(file)s is being loaded into this workspace; upload the next archive when it is done."
)
