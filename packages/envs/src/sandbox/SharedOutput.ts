/**
 * Stores a program's output in memory shared by two threads: readable even if the thread had to be ended.
 *
 * Layout: two 32-bit lengths (stdout, stderr), then `capacity` bytes for each.
 */
const lengthBytes = 8

export interface SharedOutput {
  readonly lengths: Int32Array
  readonly bytes: Uint8Array
  readonly capacity: number
}

/** Size of the memory for this capacity of each stream. */
export const bytesFor = (capacity: number): number => lengthBytes + 2 * capacity

export const over = (buffer: SharedArrayBuffer): SharedOutput => ({
  lengths: new Int32Array(buffer, 0, 2),
  bytes: new Uint8Array(buffer, lengthBytes),
  capacity: (buffer.byteLength - lengthBytes) / 2
})

export const clear = ({ lengths }: SharedOutput): void => {
  lengths.fill(0)
}

/** Writes what fits; returns true if everything did. */
export const write = (
  { bytes, capacity, lengths }: SharedOutput,
  descriptor: 1 | 2,
  written: Uint8Array,
  limit: number
): boolean => {
  const length = Atomics.load(lengths, descriptor - 1)
  const fitting = written.subarray(0, Math.max(0, Math.min(capacity, limit) - length))
  bytes.set(fitting, (descriptor - 1) * capacity + length)
  Atomics.store(lengths, descriptor - 1, length + fitting.length)
  return fitting.length === written.length
}

export const read = ({ bytes, capacity, lengths }: SharedOutput, descriptor: 1 | 2): string => {
  const from = (descriptor - 1) * capacity
  // A copy: decoders do not accept shared memory.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    bytes.slice(from, from + Atomics.load(lengths, descriptor - 1))
  )
}
