vcl 4.1;

# The other settings are the defaults. Varnish's own error responses have "Retry-After: 5".
backend api {
    .host = "127.0.0.1";
    .port = "API_PORT";
    .first_byte_timeout = 2s;
}
