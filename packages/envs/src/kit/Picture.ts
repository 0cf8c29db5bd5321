/**
 * Draws pictures from SVG with bundled fonts, so that a drawing has the same pixels everywhere, and validates pictures
 * before they are sent to a model.
 *
 * They travel as data URLs in messages (`message`) and in the `images` of a group. `check` decodes a picture
 * completely: one with too many bytes or pixels, in a format that inference servers do not accept, or damaged is
 * rejected with the reason.
 */
import { Effect, Schema } from "effect"
import * as Optional from "../base/Optional.ts"
import type { Message } from "@atropos/core/trajectory/Message"

export class PictureRefused extends Schema.TaggedError<PictureRefused>()("PictureRefused", {
  /** The name of the picture: a row and column, a file. */
  name: Schema.String,
  reason: Schema.Literals(["tooManyBytes", "tooManyPixels", "format", "broken"]),
  message: Schema.String
}) {}

export interface Limits {
  readonly maxBytes: number
  /** Width times height. */
  readonly maxPixels: number
}

export const defaultLimits: Limits = { maxBytes: 5 * 2 ** 20, maxPixels: 16 * 2 ** 20 }

export interface Picture {
  readonly format: Format
  readonly width: number
  readonly height: number
  readonly bytes: Uint8Array
}

/** Formats accepted by inference servers. */
const formats = ["png", "jpeg", "webp", "gif"] as const
export type Format = (typeof formats)[number]

const isFormat = (format: string | undefined): format is Format => formats.some((one) => one === format)

/** A picture as it is put into a message or a group. */
export const dataUrl = ({ bytes, format }: Pick<Picture, "bytes" | "format">): string =>
  `data:image/${format};base64,${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")}`

/** A user message with pictures, then text. */
export const message = (text: string, ...pictures: ReadonlyArray<Pick<Picture, "bytes" | "format">>): Message => ({
  role: "user",
  content: [
    ...pictures.map((picture) => ({ type: "image_url", image_url: { url: dataUrl(picture) } })),
    { type: "text", text }
  ]
})

/** Decodes a picture and returns its properties; `name` identifies it in errors. */
export const check = Effect.fn("Picture.check")(function* (
  name: string,
  bytes: Uint8Array,
  { maxBytes, maxPixels }: Limits = defaultLimits
) {
  const refused = (reason: PictureRefused["reason"], problem: string) =>
    new PictureRefused({ name, reason, message: `${name}: ${problem}` })
  if (bytes.length > maxBytes) {
    return yield* refused("tooManyBytes", `the picture has ${bytes.length} bytes; at most ${maxBytes} are allowed`)
  }
  const { default: sharp } = yield* Optional.load(["sharp"], "a picture", () => import("sharp"))
  const allowed = `it must be ${formats.join(", ")}`
  const broken = (cause: unknown) => {
    const message = cause instanceof Error ? cause.message : String(cause)
    return message.includes("unsupported image format")
      ? refused("format", `unknown picture format; ${allowed}`)
      : refused("broken", `cannot read the picture: ${message}`)
  }
  // The limit is checked below with a specific error; sharp's own error would be generic.
  const image = sharp(bytes, { failOn: "error", limitInputPixels: false, sequentialRead: true })
  const { format, height, width } = yield* Effect.tryPromise({ try: () => image.metadata(), catch: broken })
  if (!isFormat(format)) {
    return yield* refused("format", `the picture is ${format}; ${allowed}`)
  }
  if (width * height > maxPixels) {
    return yield* refused(
      "tooManyPixels",
      `the picture is ${width} x ${height}; at most ${maxPixels} pixels are allowed`
    )
  }
  // A truncated file still has a size: only decoding detects it.
  yield* Effect.tryPromise({ try: () => image.stats(), catch: broken })
  return { bytes, format, height, width } satisfies Picture
})

/** Draws SVG as PNG. Text is set in DejaVu Sans, Serif or Sans Mono. */
export const render = Effect.fn("Picture.render")(function* (svg: string) {
  const { Resvg, fonts } = yield* renderer
  return yield* Effect.sync((): Picture => {
    const drawing = new Resvg(svg, {
      font: { fontBuffers: fonts, loadSystemFonts: false, defaultFontFamily: "DejaVu Sans" }
    })
    const drawn = drawing.render()
    const picture: Picture = { format: "png", width: drawn.width, height: drawn.height, bytes: drawn.asPng() }
    drawn.free()
    drawing.free()
    return picture
  })
})

const fontFiles = ["DejaVuSans.ttf", "DejaVuSerif.ttf", "DejaVuSansMono.ttf"]

/** Loaded once, when the first picture is drawn. */
const renderer = Effect.runSync(
  Effect.cached(
    Optional.load(["@resvg/resvg-wasm", "dejavu-fonts-ttf"], "a drawing", async () => {
      const [{ initWasm, Resvg }, { readFile }, { createRequire }] = await Promise.all([
        import("@resvg/resvg-wasm"),
        import("node:fs/promises"),
        import("node:module")
      ])
      const { resolve } = createRequire(import.meta.url)
      const read = (specifier: string) => readFile(resolve(specifier))
      await initWasm(await read("@resvg/resvg-wasm/index_bg.wasm"))
      return { Resvg, fonts: await Promise.all(fontFiles.map((file) => read(`dejavu-fonts-ttf/ttf/${file}`))) }
    })
  )
)
