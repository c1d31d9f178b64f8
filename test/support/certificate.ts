/**
 * A certificate for localhost and 127.0.0.1 that signs itself, valid until 2126, with its key. Only
 * processes that tests start believe it (NODE_EXTRA_CA_CERTS). Made with:
 *
 *   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 36500 \
 *     -subj "/CN=search402 tests" -addext "subjectAltName=DNS:localhost,IP:127.0.0.1" \
 *     -addext "basicConstraints=critical,CA:TRUE"
 */
export const CERTIFICATE = `-----BEGIN CERTIFICATE-----
MIIBpzCCAU2gAwIBAgIUAfnuMqdzQJzGGdgFvUd7aU+aVywwCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPc2VhcmNoNDAyIHRlc3RzMCAXDTI2MTEyMTE1NTA1NloYDzIx
MjYxMDI4MTU1MDU2WjAaMRgwFgYDVQQDDA9zZWFyY2g0MDIgdGVzdHMwWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAATa+VshwqNAEUTJZyXd77RGFcAc2k3tU0trrb54
wJp606AvaoPXK34PJXrnyODeQ+V2ntlazRBwqckKgjiZ6i38o28wbTAdBgNVHQ4E
FgQUXkCULwehCeTe0P0EuhqqbJ7qKRUwHwYDVR0jBBgwFoAUXkCULwehCeTe0P0E
uhqqbJ7qKRUwGgYDVR0RBBMwEYIJbG9jYWxob3N0hwR/AAABMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgXi765FWql11XLXzeIYFCStYC7mCD+PXF
Lv0D85GwgwACIQDpqHLL5zYx/dSDCranvcSjwVIyMshq4WV/JPfl9GI9gw==
-----END CERTIFICATE-----
`;

export const CERTIFICATE_KEY = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg7tAIM8Kj9suKO1MU
T71JW1vEUeS2a7yqXwJFCGv1h2ChRANCAATa+VshwqNAEUTJZyXd77RGFcAc2k3t
U0trrb54wJp606AvaoPXK34PJXrnyODeQ+V2ntlazRBwqckKgjiZ6i38
-----END PRIVATE KEY-----
`;
