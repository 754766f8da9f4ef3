"""The media types that the service reads and writes."""

JSON = "application/json"
PROTOBUF = "application/x-protobuf"
HTML = "text/html"
PLAIN_TEXT = "text/plain"
EVENT_STREAM = "text/event-stream"
URL_ENCODED_FORM = "application/x-www-form-urlencoded"
MULTIPART_FORM = "multipart/form-data"
