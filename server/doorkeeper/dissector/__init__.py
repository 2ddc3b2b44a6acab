"""Dissects Kafka frames of files and packet captures, field by field.

input_formats  detection of the input's format
hex_text       hexadecimal text, and the output of xxd and hexdump -C
capture_files  the packets of pcap and pcapng files
packets        link layer, IP and TCP headers of a packet
tcp_streams    the bytes of each connection, in order
frame_cutter   the frames of a stream of bytes, invalid ones too
dissection     one frame: its fields, and its fault
conversation   requests and responses of one connection
inputs         from an input to dissections
code_names     names of codes: operations, errors, APIs
errors         an input that cannot be read

``doorkeeper frames`` prints the result. Memory is bounded: one frame, and for captures the
received parts of incomplete frames.
"""
