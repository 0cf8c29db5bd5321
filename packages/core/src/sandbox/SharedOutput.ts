/**
 * What a program writes, in memory that two threads share: it is there to be read even if the thread had to be ended.
 *
 * Layout: two 32-bit lengths (stdout, stderr), then as many bytes for each as the capacity.
 */
const lengthBytes = 8

export interface SharedOutput {
  readonly lengths: Int32Array
  readonly bytes: Uint8Array
  readonly capacity: number
}

/** Size of the memory for so many bytes of each. */
export const bytesFor = (capacity: number): number => lengthBytes + 2 * capacity

export const over = (buffer: SharedArrayBuffer): SharedOutput => ({
  lengths: new Int32Array(buffer, 0, 2),
  bytes: new Uint8Array(buffer, lengthBytes),
  capacity: (buffer.byteLength - lengthBytes) / 2
})

/** Empties both. */
export const clear = ({ lengths }: SharedOutput): void => {
  lengths.fill(0)
}

/** Writes what fits, and tells whether all did. */
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

/** The text written so far. */
export const read = ({ bytes, capacity, lengths }: SharedOutput, descriptor: 1 | 2): string => {
  const from = (descriptor - 1) * capacity
  // A copy: decoders do not take shared memory.
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(
    bytes.slice(from, from + Atomics.load(lengths, descriptor - 1))
  )
}
