"""What tests are made with: services, callers, requests, and servers of other projects."""
