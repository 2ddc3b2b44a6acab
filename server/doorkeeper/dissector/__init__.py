"""Kafka frames from files and packet captures, field by field.

    input_formats  which format an input has, and its bytes
    hex_text       hexadecimal text, and what xxd and hexdump -C print
    capture_files  the packets of pcap and pcapng files
    packets        link layer, IP and TCP headers of a packet
    tcp_streams    bytes of each connection, in order
    frame_cutter   frames of a stream of bytes, broken ones too
    dissection     one frame: its fields, and why it is broken
    conversation   requests and responses of one connection
    dissecting     from an input to dissections
    code_names     names of codes: operations, errors, APIs

``doorkeeper frames`` prints what comes out. Memory is bounded: one frame, and for captures what has
arrived of the frames under way.
"""
