"""Drives an S3 server with boto3 and its default settings. usage: boto3-client.py ENDPOINT BUCKET"""
import hashlib
import io
import os
import sys
import urllib.error
import urllib.request

import boto3
from botocore.client import Config
from botocore.exceptions import ClientError

endpoint, bucket = sys.argv[1:]
print("boto3", boto3.__version__, "on Python", sys.version.split()[0])
config = Config(signature_version="s3v4", s3={"addressing_style": "path"}, retries={"max_attempts": 1})
s3 = boto3.client("s3", endpoint_url=endpoint, config=config)


def md5(data):
    return hashlib.md5(data).hexdigest()


def read(key, **more):
    return s3.get_object(Bucket=bucket, Key=key, **more)["Body"].read()


small, large, name = os.urandom(4000), os.urandom(30_000_000), "c/Ä ö+&=~%20(1).txt"
s3.create_bucket(Bucket=bucket)
assert bucket in [found["Name"] for found in s3.list_buckets()["Buckets"]]

stored = s3.put_object(Bucket=bucket, Key=name, Body=small, ContentType="image/png", Metadata={"colour": "blue"})
assert stored["ETag"] == f'"{md5(small)}"', stored
assert md5(read(name)) == md5(small)
assert read(name, Range="bytes=10-19") == small[10:20]
head = s3.head_object(Bucket=bucket, Key=name)
assert (head["ContentType"], head["Metadata"], head["ContentLength"]) == ("image/png", {"colour": "blue"}, 4000), head
s3.put_object(Bucket=bucket, Key="stream", Body=io.BytesIO(small))
assert md5(read("stream")) == md5(small)

s3.upload_fileobj(io.BytesIO(large), bucket, "large")
back = io.BytesIO()
s3.download_fileobj(bucket, "large", back)
assert md5(back.getvalue()) == md5(large)
assert s3.head_object(Bucket=bucket, Key="large")["ETag"].endswith('-4"')

s3.copy({"Bucket": bucket, "Key": "large"}, bucket, "copied")
assert md5(read("copied")) == md5(large)
s3.copy_object(Bucket=bucket, Key="copied", CopySource={"Bucket": bucket, "Key": name})
assert md5(read("copied")) == md5(small)

upload = s3.create_multipart_upload(Bucket=bucket, Key="aborted")
s3.upload_part(Bucket=bucket, Key="aborted", UploadId=upload["UploadId"], PartNumber=1, Body=small)
assert len(s3.list_parts(Bucket=bucket, Key="aborted", UploadId=upload["UploadId"])["Parts"]) == 1
s3.abort_multipart_upload(Bucket=bucket, Key="aborted", UploadId=upload["UploadId"])

pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, PaginationConfig={"PageSize": 1})
assert [found["Key"] for page in pages for found in page.get("Contents", [])] == [name, "copied", "large", "stream"]

address = s3.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": name}, ExpiresIn=60)
assert md5(urllib.request.urlopen(address).read()) == md5(small)
address = s3.generate_presigned_url(
    "put_object", Params={"Bucket": bucket, "Key": "presigned", "ContentType": "image/png"}, ExpiresIn=60
)
sent = urllib.request.Request(address, data=small, method="PUT", headers={"Content-Type": "image/png"})
assert urllib.request.urlopen(sent).status == 200
assert md5(read("presigned")) == md5(small)

# Without signature_version boto3 presigns in the old way, and must be told what to set.
old = boto3.client("s3", endpoint_url=endpoint).generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": name})
if "AWSAccessKeyId=" in old:
    try:
        urllib.request.urlopen(old)
        raise AssertionError("an address of Signature Version 2 was taken")
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        assert error.code == 400 and "signature_version" in text and "s3v4" in text, text

s3.delete_object(Bucket=bucket, Key="presigned")
try:
    read("presigned")
    raise AssertionError("a deleted object was read")
except ClientError as error:
    assert error.response["Error"]["Code"] == "NoSuchKey", error
gone = s3.delete_objects(Bucket=bucket, Delete={"Objects": [{"Key": key} for key in [name, "copied", "large", "stream"]]})
assert len(gone["Deleted"]) == 4 and "Errors" not in gone, gone
assert s3.list_objects_v2(Bucket=bucket)["KeyCount"] == 0
s3.delete_bucket(Bucket=bucket)
