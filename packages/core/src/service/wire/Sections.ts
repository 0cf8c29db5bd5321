/**
 * Reads and writes little-endian number arrays inside a byte array: as views if alignment and the machine allow it,
 * otherwise as copies.
 */

export type Numbers = Int32Array | Float32Array | Float64Array
export type NumberType = "i32" | "f32" | "f64"

export const width = { i32: 4, f32: 4, f64: 8 } as const

const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

export const align = (offset: number): number => Math.ceil(offset / 8) * 8

const view = (type: NumberType, buffer: ArrayBufferLike, offset: number, length: number): Numbers => {
  switch (type) {
    case "i32":
      return new Int32Array(buffer, offset, length)
    case "f32":
      return new Float32Array(buffer, offset, length)
    case "f64":
      return new Float64Array(buffer, offset, length)
  }
}

/** Not `slice`, which returns a view for a Node buffer, at any offset. */
const copied = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes)

const swapped = (bytes: Uint8Array, size: number): Uint8Array => {
  const copy = copied(bytes)
  for (let at = 0; at < copy.length; at += size) copy.subarray(at, at + size).reverse()
  return copy
}

/** `length` numbers from `offset` on; the caller must have checked the bounds. */
export const read = (type: NumberType, bytes: Uint8Array, offset: number, length: number): Numbers => {
  const size = width[type]
  const start = bytes.byteOffset + offset
  if (isLittleEndian && start % size === 0) return view(type, bytes.buffer, start, length)
  const section = bytes.subarray(offset, offset + length * size)
  const copy = isLittleEndian ? copied(section) : swapped(section, size)
  return view(type, copy.buffer, copy.byteOffset, length)
}

export const write = (numbers: Numbers, bytes: Uint8Array, offset: number): void => {
  const own = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength)
  bytes.set(isLittleEndian ? own : swapped(own, numbers.BYTES_PER_ELEMENT), offset)
}
