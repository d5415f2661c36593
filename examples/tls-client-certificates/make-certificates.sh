#!/bin/sh
# Creates a certificate authority, a server certificate for localhost and a client certificate in the folder $1.
set -eu
mkdir -p "$1"
cd "$1"
authority() { openssl req -x509 -newkey rsa:2048 -nodes -days 365 -subj '/CN=Example authority' -keyout ca.key -out ca.pem; }
# issue NAME SUBJECT EXTENSIONS
issue() {
  openssl req -newkey rsa:2048 -nodes -subj "$2" -keyout "$1.key" -out "$1.csr"
  printf '%s\n' "$3" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 90 -extfile "$1.ext" -out "$1.pem"
  rm "$1.csr" "$1.ext"
}
authority
issue server '/CN=localhost' 'subjectAltName = DNS:localhost, IP:127.0.0.1'
issue device-7 '/CN=device-7' 'extendedKeyUsage = clientAuth'
