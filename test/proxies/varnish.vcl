vcl 4.1;

# All else is as Varnish comes: what it answers itself bears "Retry-After: 5".
backend service {
    .host = "127.0.0.1";
    .port = "SERVICE_PORT";
    .first_byte_timeout = 2s;
}
