/** What a server says with every file of the page, and the files that make the usual hosts say it. */

const DIRECTIVES = {
  "default-src": "'none'",
  "script-src": "'self' 'wasm-unsafe-eval'",
  "worker-src": "'self'",
  "style-src": "'self'",
  "img-src": "'self' data: blob:",
  "connect-src": "'self'",
  "manifest-src": "'self'",
  "base-uri": "'none'",
  "form-action": "'none'",
};

/** For the page itself, wherever it lies. */
export const POLICY = Object.entries(DIRECTIVES)
  .map(([name, value]) => `${name} ${value}`)
  .join("; ");

/** As the page's own policy, and no frames around the page, which only a header can say. */
export const HEADERS = {
  "content-security-policy": `${POLICY}; frame-ancestors 'none'`,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

/** A file asked for with the version of its build never changes. */
export const CACHE_VERSIONED = "public, max-age=31536000, immutable";
export const CACHE_OTHER = "no-cache";

/** By name in the folder of the page. */
export function hostFiles() {
  const lines = Object.entries(HEADERS);
  const vercel = { headers: [{ source: "/(.*)", headers: lines.map(([key, value]) => ({ key, value })) }] };
  return {
    // Netlify, Cloudflare Pages
    _headers: `/*\n${lines.map(([key, value]) => `  ${key}: ${value}\n`).join("")}`,
    // GitHub Pages takes the page's own policy; this keeps it from leaving files out.
    ".nojekyll": "",
    "vercel.json": `${JSON.stringify(vercel, null, 2)}\n`,
    // Apache, with what was compressed ahead
    ".htaccess": [
      "AddType application/wasm .wasm",
      ...lines.map(([key, value]) => `Header always set ${key} "${value}"`),
      "RewriteEngine On",
      ...[["br", "br"], ["gzip", "gz"]].flatMap(([encoding, extension]) => [
        `RewriteCond %{HTTP:Accept-Encoding} ${encoding}`,
        `RewriteCond %{REQUEST_FILENAME}.${extension} -f`,
        `RewriteRule ^(.*)$ $1.${extension} [L]`,
        ...Object.entries(COMPRESSED_TYPES).map(
          ([ending, type]) => `<FilesMatch "\\.${ending}\\.${extension}$">\n  ForceType ${type}\n  Header set Content-Encoding ${encoding}\n  Header append Vary Accept-Encoding\n</FilesMatch>`,
        ),
      ]),
      "",
    ].join("\n"),
    "nginx.conf.example": [
      "# Inside a server block; gzip_static and brotli_static send what was compressed ahead.",
      "gzip_static on;",
      "# brotli_static on;",
      ...lines.map(([key, value]) => `add_header ${key} "${value}" always;`),
      "",
    ].join("\n"),
  };
}

/** What is worth compressing, by ending. */
const COMPRESSED_TYPES = {
  wasm: "application/wasm",
  tflite: "application/octet-stream",
  onnx: "application/octet-stream",
  js: "text/javascript",
  css: "text/css",
  json: "application/json",
  html: "text/html",
  svg: "image/svg+xml",
};

export const COMPRESSED_ENDINGS = Object.keys(COMPRESSED_TYPES);
