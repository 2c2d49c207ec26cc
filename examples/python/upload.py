#!/usr/bin/env python3
"""CADIZ_URL=… CADIZ_API_KEY=… python3 examples/python/upload.py FILE

The three requests of an upload with nothing but the standard library: presign, PUT, record. The key is tied to a project or to a folder.
"""

import json
import mimetypes
import os
import sys
import urllib.error
import urllib.request

URL = os.environ.get("CADIZ_URL", "http://localhost:4000")
KEY = os.environ["CADIZ_API_KEY"]


def ask(method, path, body=None):
    request = urllib.request.Request(URL + path, method=method)
    request.add_header("Authorization", f"Bearer {KEY}")
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, json.dumps(body).encode() if body else None) as answer:
        return json.load(answer)


def upload(path, folder_id=None):
    """Uploads a file and returns it as the service has recorded it."""
    key = ask("GET", "/api/storage/key")
    facts = {
        "projectId": key["projectId"],
        "fileName": os.path.basename(path),
        "mimeType": mimetypes.guess_type(path)[0] or "application/octet-stream",
        "fileSize": os.path.getsize(path),
        "folderId": folder_id or key["folderId"],
    }
    presigned = ask("POST", "/api/storage/presign", facts)
    with open(path, "rb") as file:
        put = urllib.request.Request(presigned["presignedUrl"], data=file, method="PUT")
        put.add_header("Content-Length", str(facts["fileSize"]))
        urllib.request.urlopen(put).close()
    return ask("POST", "/api/storage/record", {**facts, "storeKey": presigned["storeKey"]})


if __name__ == "__main__":
    try:
        print(json.dumps(upload(sys.argv[1]), indent=2))
    except urllib.error.HTTPError as error:
        # The answer says what is wrong, and the status alone does not.
        sys.exit(f"{error}: {error.read().decode()}")
