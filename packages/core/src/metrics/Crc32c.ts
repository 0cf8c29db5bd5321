/** CRC-32C (Castagnoli, RFC 3720 appendix B.4), and its masked form, which TFRecords use. */

const polynomial = 0x82f63b78

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ polynomial : value >>> 1
  return value
})

export const crc32c = (bytes: Uint8Array): number => {
  let value = 0xffffffff
  for (const byte of bytes) value = table[(value ^ byte) & 0xff]! ^ (value >>> 8)
  return (value ^ 0xffffffff) >>> 0
}

/** Rotated right by 15 and offset, so that checksums of data with embedded checksums stay useful. */
export const masked = (checksum: number): number => (((checksum >>> 15) | (checksum << 17)) + 0xa282ead8) >>> 0
