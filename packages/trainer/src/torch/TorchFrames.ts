/**
 * Frames between the trainer and the child process: u32 header bytes, u64 payload bytes (little endian), the header as
 * JSON, the payload. The header's `tensors` lists the payload's arrays in order. Answers hold float32 arrays only.
 */

export type Values = Float32Array | Int32Array | Uint8Array

export interface Tensors {
  readonly [name: string]: Values
}

export interface Header {
  readonly [key: string]: unknown
}

export interface Answer {
  readonly header: Header
  readonly tensors: { readonly [name: string]: Float32Array }
}

const headBytes = 12

const dtypeOf = (values: Values): string =>
  values instanceof Float32Array ? "f32" : values instanceof Int32Array ? "i32" : "u8"

/** A frame in parts, which are sent one after the other. */
export const encode = (header: Header, tensors: Tensors = {}): ReadonlyArray<Uint8Array> => {
  const named = Object.entries(tensors)
  const listed = named.map(([name, values]) => ({ name, dtype: dtypeOf(values), size: values.length }))
  const json = Buffer.from(JSON.stringify({ ...header, tensors: listed }))
  const sizes = Buffer.alloc(headBytes)
  sizes.writeUInt32LE(json.length, 0)
  sizes.writeBigUInt64LE(BigInt(named.reduce((sum, [, values]) => sum + values.byteLength, 0)), 4)
  return [
    sizes,
    json,
    ...named.map(([, values]) => new Uint8Array(values.buffer, values.byteOffset, values.byteLength))
  ]
}

const decode = (frame: Buffer): Answer => {
  const json = frame.readUInt32LE(0)
  const header = JSON.parse(frame.toString("utf8", headBytes, headBytes + json)) as Header
  const tensors: { [name: string]: Float32Array } = {}
  let at = headBytes + json
  for (const { name, size } of header["tensors"] as ReadonlyArray<{ readonly name: string; readonly size: number }>) {
    // Copied, since it need not begin at a multiple of four.
    tensors[name] = new Float32Array(new Uint8Array(frame.subarray(at, at + 4 * size)).buffer)
    at += 4 * size
  }
  return { header, tensors }
}

/** Cuts a stream of bytes into frames: call it with each chunk, however the frames are split. */
export const decoder = (onAnswer: (answer: Answer) => void): ((chunk: Buffer) => void) => {
  let chunks: Array<Buffer> = []
  let length = 0
  const joined = (): Buffer => {
    const [only, ...others] = chunks
    const all = only !== undefined && others.length === 0 ? only : Buffer.concat(chunks)
    chunks = [all]
    return all
  }
  /** Bytes of the frame that begins here, as far as they are known. */
  let wanted = headBytes
  return (chunk) => {
    chunks.push(chunk)
    length += chunk.length
    while (length >= wanted) {
      const bytes = joined()
      wanted = headBytes + bytes.readUInt32LE(0) + Number(bytes.readBigUInt64LE(4))
      if (length < wanted) return
      onAnswer(decode(bytes.subarray(0, wanted)))
      chunks = [bytes.subarray(wanted)]
      length -= wanted
      wanted = headBytes
    }
  }
}
