"""Unit factors: SI prefixes are decimal, memory capacities may be binary.

References
----------
BIPM, The International System of Units, 9th ed., table 7; IEC 80000-13 for the binary prefixes.
"""

KILO = 1e3
MEGA = 1e6
GIGA = 1e9
TERA = 1e12
PETA = 1e15

KIB = 2**10
MIB = 2**20
GIB = 2**30

MILLI = 1e-3
MICRO = 1e-6
NANO = 1e-9

SECONDS_PER_MINUTE = 60.0
SECONDS_PER_HOUR = 3600.0
HOURS_PER_DAY = 24.0
DAYS_PER_YEAR = 365.25
HOURS_PER_MONTH = DAYS_PER_YEAR * HOURS_PER_DAY / 12
WATT_PER_KILOWATT = 1e3
JOULE_PER_KWH = 3.6e6
BITS_PER_BYTE = 8
