"""The first layer: what the user named becomes blocks of clean text.

This layer owns the bytes. It finds the files (`discover`), reads them or spools pipes
(`readers`), unpacks what is compressed (`decompress`), makes valid UTF-8 of what is not (`text`),
cuts it at line ends (`lines`), sees by the first lines what launchers and containers put around
each (`recognise`), takes it off (`envelopes`), and parts an input with lines of several processes
(`streams`). `source` ties these together. Nothing here knows what records say.
"""
