"""What operators do now and then: set the cloud up, check it, start on an empty home."""
