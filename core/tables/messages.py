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

NEITHER_FORM = Wording(
    "table.neither_form", "the file is neither an array of JSON objects nor one JSON object per line"
)
UNPACKS_TO = Wording(
    "table.unpacks_to", "the file unpacks to more than %(most)s MB, which is more than %(times)s times its size"
)
UNPACK_YOURSELF = Wording(
    "table.unpack_yourself", "unpack it yourself, or ask the operator of the server to raise PLUMBLINE_TABLE_EXPANSION"
)
NOT_OPENED = Wording("table.not_opened", "the file cannot be opened (%(words)s)")
CHECK_NAME = Wording("table.check_name", "check its name and folder")
LONG_LINE = Wording("table.long_line", "the line is longer than %(most)s MB")
OLD_LINE_ENDS = Wording("table.old_line_ends", "its lines end in a single carriage return")
NEW_LINE_ENDS = Wording("table.new_line_ends", "save the file with the line ends of Unix or Windows")
LONG_VALUE = Wording("table.long_value", "a value is longer than %(most)s characters")
QUOTES_OR_COLUMN = Wording(
    "table.quotes_or_column", "check the quotation marks in and above this line, or remove the column"
)
ROWS_AS_ARRAY = Wording("table.rows_as_array", "write the rows as [{...}, {...}]")
LINE_ENDS_OR_COLUMN = Wording("table.line_ends_or_column", "check its line ends, or remove the longest column")
NOT_READ = Wording("table.not_read", "the file cannot be read (%(words)s)")
CHECK_FILE = Wording("table.check_file", "check the file")
ONE_ARRAY = Wording("table.one_array", "write the file as one array of JSON objects: [{...}, {...}]")
TOO_NESTED = Wording("table.too_nested", "the values are nested too deeply")
AS_TEXT = Wording("table.as_text", "write them as text")
BYTES_NOT_UTF8 = Wording("table.bytes_not_utf8", "it has bytes that are not UTF-8")
VALUE_BESIDE = Wording("table.value_beside", "the row has a value beside the table")
NAME_OR_REMOVE = Wording("table.name_or_remove", "give its column a name, or remove the value")
ELEMENT_NO_OBJECT = Wording("table.element_no_object", "it is not a JSON object")
OBJECT_PER_ROW = Wording("table.object_per_row", "write one JSON object per row")
AN_OBJECT = Wording("table.an_object", "an object")
A_LIST = Wording("table.a_list", "a list of %(n)s")
SEVERAL_VALUES = Wording("table.several_values", "%(column)s holds %(what)s where one value belongs")
ONE_VALUE = Wording("table.one_value", "give one value, or a row for each")
OBJECTS_IN_COLUMN = Wording("table.objects_in_column", "%(column)s holds objects where texts belong")
TEXT_OR_LIST = Wording("table.text_or_list", "write a text, or a list of texts")
LONG_SHEET = Wording("table.long_sheet", "a sheet has more than %(most)s rows")
SPLIT = Wording("table.split", "split the table")
NO_WORKBOOK = Wording("table.no_workbook", "the file is not a workbook that can be read")
SAVE_WORKBOOK = Wording("table.save_workbook", "save it again as .xlsx, without a password, or as CSV")
MANY_PARTS = Wording("table.many_parts", "the file has %(n)s parts")
OWN_WORKBOOK = Wording("table.own_workbook", "save the table as a workbook of its own")
SEVERAL_SHEETS = Wording("table.several_sheets", "%(n)s sheets have values: %(names)s")
NO_BRACKET = Wording("table.no_bracket", "the file does not begin with [")
NO_MEMBER = Wording("table.no_member", "the file is no JSON object with the key %(key)s")
TEXT_AFTER = Wording("table.text_after", "there is text after the end of the array")
ARRAY_OPEN = Wording("table.array_open", "the array does not end")
NO_COMMA = Wording("table.no_comma", "after element %(number)s there is neither a comma nor a closing bracket")
LONG_ELEMENT = Wording("table.long_element", "element %(number)s is longer than %(most)s characters")
NESTED_ELEMENT = Wording("table.nested_element", "element %(number)s is nested too deeply or holds too long a number")
BAD_ELEMENT = Wording("table.bad_element", "element %(number)s is not valid JSON (%(words)s)")
KEEP_NAMES = Wording("table.keep_names", "keep names to %(most)s characters")
KEEP_IT = Wording("table.keep_it", "keep it to %(most)s characters")
KEEP_ONE = Wording("table.keep_one", "keep one of them")

OPEN_QUOTE = Wording("table.open_quote", "the file is not valid CSV (unexpected end of data)")
SEPARATED_BY = Wording(
    "table.separated_by", "the columns are separated by %(mark)s; save the file with commas, or with tabs as .tsv"
)
