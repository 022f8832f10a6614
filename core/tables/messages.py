"""What is wrong with a table or a row of it, and what to do about it. PURE."""

from core.messages.message import Wording

BAD_ROW = Wording("table.bad_row", "%(file)s line %(line)s: %(reason)s; %(remedy)s.")
BAD_FILE = Wording("table.bad_file", "%(file)s: %(reason)s; %(remedy)s.")
IN_ELEMENT = Wording("table.in_element", "element %(number)s: %(reason)s")

EMPTY = Wording("table.empty", "the file is empty")
NO_ROWS = Wording("table.no_rows", "the file has no rows below its header")
COPY_WHOLE = Wording("table.copy_whole", "check that the file was written or copied completely")
GZIP_ENDS = Wording("table.gzip_ends", "the gzip file ends early")
GZIP_DAMAGED = Wording("table.gzip_damaged", "the gzip file is damaged")
COPY_AGAIN = Wording("table.copy_again", "copy or download it again")
NO_PARQUET = Wording("table.no_parquet", "the file is not valid Parquet")
WIDE = Wording("table.wide_encoding", "the file is UTF-16 or UTF-32, not UTF-8")
NOT_UTF8 = Wording("table.not_utf8", "byte %(byte)s of the line is not UTF-8")
PERHAPS_GBK = Wording("table.perhaps_gbk", "byte %(byte)s of the line is not UTF-8, but could be GBK")
SAVE_AS_UTF8 = Wording("table.save_as_utf8", "save the file as UTF-8")
ENDING = Wording(
    "table.ending", "the name does not end in .csv, .tsv, .jsonl, .json (each also with .gz), .parquet or .xlsx"
)
RENAME = Wording("table.rename", "rename the file so that its ending says its format")

NO_COLUMN = Wording("table.no_column", "there is no column %(column)s")
THE_COLUMNS = Wording("table.the_columns", "the columns are %(columns)s")
NO_HEADER = Wording("table.no_header", "the line is empty; write the names of the columns in the first line")
TWO_COLUMNS = Wording("table.two_columns", "there are two columns named %(column)s")
NAMELESS_COLUMN = Wording("table.nameless_column", "column %(number)s has no name")
NAME_EACH = Wording("table.name_each", "give each column its own name")
OTHER_LENGTH = Wording("table.other_length", "the row has %(values)s values for %(columns)s columns")
QUOTE = Wording("table.quote", "quote values that contain commas")
BAD_CSV = Wording("table.bad_csv", "the file is not valid CSV (%(words)s)")
CHECK_QUOTES = Wording("table.check_quotes", "check the quotation marks in and above this line")
NOT_JSON = Wording("table.not_json", "the line is not valid JSON")
NO_OBJECT = Wording("table.no_object", "the line is not a JSON object")
OBJECT_PER_LINE = Wording("table.object_per_line", "write one JSON object per line")

INSTRUCTION_TWICE = Wording("table.instruction_twice", "instruction %(name)s stands in an earlier row too")
KEEP_ONE = Wording("table.keep_one", "keep one of them")
ANSWERED_TWICE = Wording("table.answered_twice", "%(model)s has answered %(name)s in an earlier row")
KEEP_ONE_OR_SAMPLE = Wording(
    "table.keep_one_or_sample",
    "keep one of them, or name the column that numbers the samples with --column sample=COLUMN",
)

NO_WORKBOOK = Wording("table.no_workbook", "the file is not a workbook that can be read")
SAVE_WORKBOOK = Wording("table.save_workbook", "save it again as .xlsx, without a password, or as CSV")
MANY_PARTS = Wording("table.many_parts", "the file has %(n)s parts")
SHEETS = Wording("table.sheets", "%(n)s sheets have values: %(names)s")
SAVE_ALONE = Wording("table.save_alone", "save the table as a workbook of its own")
MANY_ROWS = Wording("table.many_rows", "a sheet has more than %(n)s rows")
SPLIT = Wording("table.split", "split the table")
BESIDE = Wording("table.beside", "the row has a value beside the table")
NAME_OR_REMOVE = Wording("table.name_or_remove", "give its column a name, or remove the value")
NO_ARRAY = Wording("table.no_array", "the file does not begin with [")
ARRAY_ENDS = Wording("table.array_ends", "the array does not end")
NO_COMMA = Wording("table.no_comma", "after element %(number)s there is neither a comma nor a closing bracket")
AFTER_ARRAY = Wording("table.after_array", "there is text after the end of the array")
BAD_ELEMENT = Wording("table.bad_element", "element %(number)s is not valid JSON (%(words)s)")
ONE_ARRAY = Wording("table.one_array", "write the file as one array of JSON objects: [{...}, {...}]")
OPEN_QUOTE = Wording("table.open_quote", "the file is not valid CSV (unexpected end of data)")
SEPARATED_BY = Wording(
    "table.separated_by", "the columns are separated by %(mark)s; save the file with commas, or with tabs as .tsv"
)
NO_CLONE = Wording("table.no_clone", "this is no clone of %(name)s")
NAME_FOLDER = Wording("table.name_folder", "name the folder that holds %(folders)s")
