/**
 * Extracts pictures of a group: data URLs and bare base64, in `images` or in message parts. Only embedded bytes are
 * shown. URLs are listed but never loaded: their author would learn of the reader.
 */
import * as Predicate from "effect/Predicate"

/** `src` is a data URL to show; null with a `name` that describes it and why it is not shown. */
export interface Image {
  readonly src: string | null
  /** `image/png, 12 kB`, or the URL and the reason. */
  readonly name: string
}

const shown = /^data:(image\/(?:png|jpeg|jpg|gif|webp|avif|bmp|svg\+xml))(?:;[^,]*)?,/i

/** The first bytes of the formats browsers show, in base64. */
const signatures: ReadonlyArray<readonly [prefix: string, type: string]> = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["UklGR", "image/webp"],
  ["Qk", "image/bmp"],
  ["AAAA", "image/avif"]
]

/**
 * Parses one entry: a string, or an object containing one (`{ url }`, `{ image_url }`, `{ data }`, …). Null if it is
 * not a picture.
 */
export const imageOf = (value: unknown): Image | null => {
  if (Predicate.isReadonlyObject(value)) {
    const inner = ["url", "image_url", "data", "image", "source", "b64_json", "base64"].flatMap((key) =>
      key in value ? [value[key]] : []
    )
    return inner.length === 0 ? null : imageOf(inner[0])
  }
  if (typeof value !== "string" || value === "") return null
  const data = shown.exec(value)
  if (data !== null) return { src: value, name: `${data[1]!.toLowerCase()}, ${size(value.length - data[0].length)}` }
  if (value.startsWith("data:")) return { src: null, name: `${value.slice(5, 45).split(/[;,]/)[0]}: not a picture` }
  if (/^[a-z][a-z0-9+.-]*:/i.test(value)) return { src: null, name: `${value.slice(0, 200)} (not loaded)` }
  const type = signatures.find(([prefix]) => value.startsWith(prefix))?.[1]
  return type === undefined || !/^[A-Za-z0-9+/=\s]+$/.test(value.slice(0, 4096))
    ? { src: null, name: `${value.slice(0, 40)}… (neither a data URL nor base64 of a picture)` }
    : { src: `data:${type};base64,${value}`, name: `${type}, ${size(value.length)}` }
}

export const imagesOf = (value: unknown): ReadonlyArray<Image> => {
  if (Array.isArray(value)) return value.flatMap(imagesOf)
  const image = imageOf(value)
  return image === null ? [] : [image]
}

const size = (characters: number): string => {
  const bytes = Math.round(characters * 0.75)
  return bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1e6).toFixed(1)} MB`
}
