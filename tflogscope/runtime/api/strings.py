"""`tf.strings`."""

from __future__ import annotations

from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import strings

as_string = strings.as_string
bytes_split = strings.bytes_split
format = strings.format
join = strings.join
length = strings.length
lower = strings.lower
reduce_join = strings.reduce_join
regex_full_match = strings.regex_full_match
regex_replace = strings.regex_replace
split = strings.split
strip = strings.strip
substr = strings.substr
to_hash_bucket_fast = strings.to_hash_bucket_fast
to_number = strings.to_number
unicode_split = strings.unicode_split
upper = strings.upper

__getattr__ = missing("tf.strings")
