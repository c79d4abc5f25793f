"""The same promises on managed parts: DynamoDB keeps the truth, SQS carries the hints."""
