"""Bytes behind URLs, by range: many in flight, tried again where that may help, kept on disk where that is asked for.

s3://, gs://, az://, http:// and https://, through obstore (the extra `cloud`), which is imported when a URL is first
read. Law: bytes are never taken from an object that is not the one that was seen first.
"""
