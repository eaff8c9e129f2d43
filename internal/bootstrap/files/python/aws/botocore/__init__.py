"""What Pintle's built-in boto3 needs of botocore, and handlers import of it."""
