/**
 * Restricts the host functions of a WebAssembly program to `@runno/wasi`'s in-memory file system and clock, without
 * access to this machine.
 *
 * Tightens the library against hostile programs: written bytes, files and open files are bounded; output goes to a
 * bounded sink; nothing is kept between runs. A file system belongs to one run. Paths in `devices` are lines to the
 * host. Anything that a sink or a device throws is thrown through the program, which is how a run is ended from
 * outside.
 */
import { randomFillSync } from "node:crypto"
import { WASI, WASISnapshotPreview1 } from "@runno/wasi"

const { Clock, OpenFlags, Result } = WASISnapshotPreview1

/** Read and written by its path, like a file; reading may block. */
export interface Device {
  readonly read: (maxBytes: number) => Uint8Array
  readonly write: (bytes: Uint8Array) => void
}

export interface Options {
  readonly args: ReadonlyArray<string>
  readonly env: { readonly [name: string]: string }
  /** By absolute path. A run gets copies, which it may change. */
  readonly files: ReadonlyMap<string, Uint8Array>
  readonly devices: ReadonlyMap<string, Device>
  readonly stdin: (maxBytes: number) => Uint8Array
  readonly output: (descriptor: 1 | 2, bytes: Uint8Array) => void
  /** Max total bytes a run may write to files. */
  readonly maxFileBytes: number
}

const realtime: number = Clock.REALTIME
const maxFiles = 10_000
const maxOpenFiles = 200

export class GuardedWasi extends WASI {
  readonly #options: Options
  #writtenBytes = 0
  #createdFiles = 0

  constructor(options: Options) {
    super({
      args: Array.from(options.args),
      env: { ...options.env },
      fs: fileSystem(options),
      // Without it, the library keeps a record of every call forever.
      debug: () => undefined
    })
    this.#options = options
  }

  /** The current buffer: growing replaces it. */
  #memory(): ArrayBuffer {
    return (this.memory as { readonly buffer: ArrayBuffer }).buffer
  }

  /** The bytes in memory named by a vector of (address, length) pairs. */
  #vectors(address: number, count: number): ReadonlyArray<Uint8Array> {
    const view = new DataView(this.#memory())
    return Array.from({ length: count }, (_, index) => {
      const at = address + index * 8
      return new Uint8Array(this.#memory(), view.getUint32(at, true), view.getUint32(at + 4, true))
    })
  }

  #device(descriptor: number): Device | undefined {
    const open = this.drive.openMap.get(descriptor)
    return open !== undefined && "file" in open ? this.#options.devices.get(open.file.path) : undefined
  }

  /** The reason to refuse writing bytes up to this offset, if any; counts them otherwise. */
  #refusal(descriptor: number, upTo: number): WASISnapshotPreview1.Result | undefined {
    const open = this.drive.openMap.get(descriptor)
    if (open === undefined || !("buffer" in open)) return Result.EBADF
    const growth = Math.max(0, (open.flagAppend ? open.buffer.length : 0) + upTo - open.buffer.length)
    if (!(this.#writtenBytes + growth <= this.#options.maxFileBytes)) return Result.ENOSPC
    this.#writtenBytes += growth
    return undefined
  }

  #written(address: number, count: number): number {
    return this.#vectors(address, count).reduce((sum, { byteLength }) => sum + byteLength, 0)
  }

  override fd_read(descriptor: number, vectors: number, count: number, sizeAt: number): number {
    const device = this.#device(descriptor)
    if (descriptor !== 0 && device === undefined) return super.fd_read(descriptor, vectors, count, sizeAt)
    const [target] = this.#vectors(vectors, count).filter(({ byteLength }) => byteLength > 0)
    const read = device?.read ?? this.#options.stdin
    const source = target === undefined ? new Uint8Array() : read(target.byteLength)
    target?.set(source)
    new DataView(this.#memory()).setUint32(sizeAt, source.byteLength, true)
    return Result.SUCCESS
  }

  override fd_write(descriptor: number, vectors: number, count: number, sizeAt: number): number {
    const device = this.#device(descriptor)
    if (descriptor === 1 || descriptor === 2 || device !== undefined) {
      for (const bytes of this.#vectors(vectors, count)) {
        if (device === undefined) this.#options.output(descriptor === 1 ? 1 : 2, bytes)
        else device.write(bytes)
      }
      new DataView(this.#memory()).setUint32(sizeAt, this.#written(vectors, count), true)
      return Result.SUCCESS
    }
    const [, at = 0n] = this.drive.tell(descriptor)
    return (
      this.#refusal(descriptor, Number(at) + this.#written(vectors, count)) ??
      super.fd_write(descriptor, vectors, count, sizeAt)
    )
  }

  override fd_pwrite(descriptor: number, vectors: number, count: number, offset: bigint, sizeAt: number): number {
    if (descriptor < 3) return this.fd_write(descriptor, vectors, count, sizeAt)
    return (
      this.#refusal(descriptor, Number(offset) + this.#written(vectors, count)) ??
      super.fd_pwrite(descriptor, vectors, count, offset, sizeAt)
    )
  }

  override fd_allocate(descriptor: number, offset: bigint, length: bigint): number {
    return this.#refusal(descriptor, Number(offset + length)) ?? super.fd_allocate(descriptor, offset, length)
  }

  override fd_filestat_set_size(descriptor: number, size: bigint): number {
    return this.#refusal(descriptor, Number(size)) ?? super.fd_filestat_set_size(descriptor, size)
  }

  override path_open(...args: Parameters<WASI["path_open"]>): number {
    if (this.drive.openMap.size >= maxOpenFiles) return Result.EMFILE
    const mayCreate = (args[4] & OpenFlags.CREAT) !== 0
    return (mayCreate ? this.#noRoomForFile() : undefined) ?? super.path_open(...args)
  }

  override path_create_directory(...args: Parameters<WASI["path_create_directory"]>): number {
    return this.#noRoomForFile() ?? super.path_create_directory(...args)
  }

  /** Counts every call that may create a file, successful or not. */
  #noRoomForFile(): WASISnapshotPreview1.Result | undefined {
    return this.#createdFiles++ < maxFiles ? undefined : Result.ENOSPC
  }

  override random_get(address: number, length: number): number {
    randomFillSync(new Uint8Array(this.#memory(), address, length))
    return Result.SUCCESS
  }

  override clock_time_get(id: number, precision: bigint, address: number): number {
    if (id === realtime) return super.clock_time_get(id, precision, address)
    new DataView(this.#memory()).setBigUint64(address, process.hrtime.bigint(), true)
    return Result.SUCCESS
  }
}

const fileSystem = ({ devices, files }: Options) => {
  const now = new Date()
  const entries = [...files, ...Array.from(devices.keys(), (path) => [path, new Uint8Array()] as const)]
  return Object.fromEntries(
    entries.map(([path, content]) => [
      path,
      {
        path,
        content: content.slice(),
        mode: "binary" as const,
        timestamps: { access: now, modification: now, change: now }
      }
    ])
  )
}
