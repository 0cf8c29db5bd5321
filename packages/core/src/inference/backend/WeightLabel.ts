/**
 * The label of a vLLM server's weights (`weight_version` of `GET /weight_info`), as a trainer writes it that loads
 * whole weights into the server, and as whoever samples reads it.
 *
 * `policy-r-v3`: these weights answer. `policy-r-v3>policy-r-v4`: they still do, others are about to be loaded.
 * `>policy-r-v4`: these are loaded, or half of them, and nobody has looked yet whether they are right: what is answered
 * meanwhile is of unknown weights. Names are never used twice for different weights.
 */
export interface WeightLabel {
  /** Whose weights answer; undefined: nobody knows. */
  readonly name: string | undefined
  /** Whether no others are on their way. */
  readonly isSettled: boolean
}

const mark = ">"

/** `name` still answers, `next` is about to be loaded. */
export const leaving = (name: string, next: string): string => `${name}${mark}${next}`

/** `next` is being loaded, or looked at. */
export const arriving = (next: string): string => `${mark}${next}`

export const read = (label: string): WeightLabel => {
  const at = label.indexOf(mark)
  return at < 0
    ? { name: label, isSettled: true }
    : { name: at === 0 ? undefined : label.slice(0, at), isSettled: false }
}
