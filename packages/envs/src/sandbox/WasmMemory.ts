/**
 * Adds a memory limit to a WebAssembly module, so that a program that needs more gets a MemoryError.
 *
 * Rewrites the limits in the memory section (WebAssembly core specification 5.5.8) and drops debugging sections, which
 * only cost time. Throws for a module without its own memory, or one that starts with more than the limit.
 */

/** A compiled module; it may be posted to other threads. */
export interface Module {
  readonly __module: never
}

interface Wasm {
  readonly compile: (bytes: Uint8Array) => Promise<Module>
  readonly Instance: new (module: Module, imports: object) => { readonly exports: object }
}

/** Node's WebAssembly, which is only typed in the browser's library. */
export const wasm = (globalThis as unknown as { readonly WebAssembly: Wasm }).WebAssembly

const pageBytes = 65536
const headerBytes = 8
const customSection = 0
const memorySection = 5

/** The module with this memory limit. */
export const bounded = (module: Uint8Array, maxBytes: number): Uint8Array<ArrayBuffer> => {
  const maxPages = Math.floor(maxBytes / pageBytes)
  const sections: Array<Uint8Array> = [module.subarray(0, headerBytes)]
  let isBounded = false
  for (let at = headerBytes; at < module.length;) {
    const [length, start] = unsigned(module, at + 1)
    const end = start + length
    if (module[at] === memorySection) {
      sections.push(section(memorySection, withMaximum(module, start, maxPages)))
      isBounded = true
    } else if (module[at] !== customSection) {
      sections.push(module.subarray(at, end))
    }
    at = end
  }
  if (!isBounded) throw new Error("the WebAssembly module has no memory section")
  return joined(sections)
}

/** The content of a section with one memory: its minimum unchanged, with this maximum. */
const withMaximum = (module: Uint8Array, start: number, maxPages: number): ReadonlyArray<number> => {
  const [count, flags] = unsigned(module, start)
  const [minimum] = unsigned(module, flags + 1)
  if (count !== 1) throw new Error(`the WebAssembly module has ${count} memories`)
  if (minimum > maxPages) {
    throw new Error(`the WebAssembly module starts with ${minimum} pages of memory, more than the ${maxPages} allowed`)
  }
  return [1, 1, ...leb128(minimum), ...leb128(maxPages)]
}

const section = (id: number, content: ReadonlyArray<number>): Uint8Array =>
  Uint8Array.from([id, ...leb128(content.length), ...content])

/** An unsigned LEB128 number, and the index after it. */
const unsigned = (bytes: Uint8Array, start: number): readonly [value: number, end: number] => {
  let value = 0
  let at = start
  for (let shift = 0; ; shift += 7) {
    const byte = bytes[at++] ?? 0
    value += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) return [value, at]
  }
}

const leb128 = (value: number): ReadonlyArray<number> =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...leb128(value >>> 7)]

const joined = (parts: ReadonlyArray<Uint8Array>): Uint8Array<ArrayBuffer> => {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}
