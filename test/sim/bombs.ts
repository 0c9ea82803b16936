import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';

const PIECE = Buffer.alloc(16 * 1024 * 1024, ' ');

/** Each decompresses to 1 GiB, except the one for Brotli, which decompresses to 64 MiB. */
export const BOMBS: Readonly<Record<'gzip' | 'br' | 'zstd', Buffer>> = {
  // Both formats can be concatenated.
  gzip: repeat(gzipSync(PIECE), 64),
  zstd: repeat(zstdCompressSync(PIECE), 64),
  br: brotliCompressSync(repeat(PIECE, 4), { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
};

function repeat(bytes: Buffer, times: number): Buffer {
  return Buffer.concat(Array.from({ length: times }, () => bytes));
}
