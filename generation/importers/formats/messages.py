"""What is wrong with a file of another tool or a row of it, and by what a format was recognised. PURE."""

from core.messages.message import Wording

NO_FORMAT = Wording("formats.no_format", "There is no format %(name)s; the formats are %(known)s.")
PART_OF_ARCHIVE = Wording("formats.part_of_archive", "the file is only part of an archive, such as a .zip or .eval")
NOT_RECOGNISED = Wording(
    "formats.not_recognised", "no format fits: its first row has the fields %(fields)s", between=", "
)
NAME_FORMAT = Wording("formats.name_format", "name the format, or load the file as a table whose columns you name")
HAS_FIELDS = Wording("formats.has_fields", "its first row has the fields %(fields)s", between=", ")
OTHER_FORMAT = Wording("formats.other_format", "this is not a file of %(format)s: there is no field %(field)s")
LOOKS_LIKE = Wording("formats.looks_like", "its fields are those of %(format)s; choose that format")
FIELDS_ARE = Wording("formats.fields_are", "the fields are %(fields)s", between=", ")
NOT_THIS_VERSION = Wording("formats.not_this_version", "this is the layout of %(version)s, which is not read")
EXPORT_AGAIN = Wording("formats.export_again", "export it again with %(version)s")

NO_FIELD = Wording("formats.no_field", "the field %(field)s is missing or empty")
FILL_FIELD = Wording("formats.fill_field", "fill it in, or name another field")
FIELD_IS = Wording("formats.field_is", "the field %(field)s is %(value)s")
WRITE_AS = Wording("formats.write_as", "write %(what)s")
SEVERAL_CHOICES = Wording("formats.several_choices", "%(question)s has %(n)s choices where one answer belongs")
LEAVE_QUESTION = Wording("formats.leave_question", "exclude the question %(question)s")
OTHER_LENGTHS = Wording(
    "formats.other_lengths", "the number of users of %(question)s is %(users)s and that of its answers %(values)s"
)
WHOLE_EXPORT = Wording("formats.whole_export", "export the records again")
NO_MODELS = Wording("formats.no_models", "both responses are of the model %(model)s")
NAME_BOTH = Wording("formats.name_both", "name the fields of the two models")
NO_REPLY = Wording("formats.no_reply", "%(name)s has no reply of the assistant")
WHOLE_CONVERSATION = Wording("formats.whole_conversation", "give the whole conversation")
FAILED_REQUEST = Wording("formats.failed_request", "the request %(name)s failed: %(why)s")
FAILED_SAMPLE = Wording("formats.failed_sample", "the sample %(name)s was not completed: %(why)s")
RUN_AGAIN = Wording("formats.run_again", "run that sample again, or leave out the bad rows")
NO_INSPECT = Wording("formats.no_inspect", "inspect_ai, whose package reads its logs, is not installed")
INSTALL_INSPECT = Wording(
    "formats.install_inspect", "ask the operator to install the extra inspect: pip install 'FILE.whl[inspect]'"
)
IS_ARCHIVE = Wording("formats.is_archive", "it is an archive of %(format)s")
NO_SAMPLES = Wording("formats.no_samples", "the archive has no samples in the layout that is read")
CONVERT_LOG = Wording("formats.convert_log", "convert it with: inspect log convert --to json")
NO_SAMPLE = Wording("formats.no_sample", "the installed inspect_ai cannot read this sample")
UPDATE_INSPECT = Wording("formats.update_inspect", "install the version that wrote the log, or leave out the bad rows")
DAMAGED_ARCHIVE = Wording("formats.damaged_archive", "the archive is damaged or cut off")
DAMAGED_MEMBER = Wording("formats.damaged_member", "%(name)s in the archive is no JSON object")
LONG_SAMPLE = Wording("formats.long_sample", "the sample has more than %(most)s MB")
LEAVE_SAMPLE = Wording("formats.leave_sample", "leave out the bad rows")
ASK_AGAIN = Wording("formats.ask_again", "send that request again, or leave out the bad rows")
