/**
 * The colours of curves (`styles/tokens.css`) under each kind of colour vision: Machado et al. 2009, severity 1, on
 * linear RGB (https://doi.org/10.1109/TVCG.2009.113); distances in CIELAB (CIE76); contrast as WCAG 2 has it.
 */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import * as Curves from "../../viewer/src/chart/Curves.ts"

const css = readFileSync(new URL("../../viewer/src/styles/tokens.css", import.meta.url), "utf8")

type Color = readonly [number, number, number]

/** Linear RGB from 0 to 1. */
const linear = (hex: string): Color => {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return [r, g, b]
}

const pairOf = (name: string): readonly [light: Color, dark: Color] => {
  const [, light = "", dark = ""] = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(css) ?? []
  assert.match(light + dark, /^(?:#[\da-f]{6}){2}$/, name)
  return [linear(light), linear(dark)]
}

const visions: { readonly [name: string]: ReadonlyArray<Color> } = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1]
  ],
  protanopia: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998]
  ],
  deuteranopia: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881]
  ],
  tritanopia: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039]
  ]
}

const seenAs = ([r, g, b]: Color, rows: ReadonlyArray<Color>) =>
  rows.map(([x, y, z]) => Math.min(1, Math.max(0, x * r + y * g + z * b)))

const luminance = ([r = 0, g = 0, b = 0]: ReadonlyArray<number>): number => 0.2126 * r + 0.7152 * g + 0.0722 * b

const root = (t: number): number => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116)

const lab = (color: ReadonlyArray<number>): Color => {
  const [r = 0, g = 0, b = 0] = color
  const x = root((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505)
  const y = root(luminance(color))
  const z = root((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089)
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)]
}

const names = Array.from({ length: Curves.colors }, (_, at) => `series-${at + 1}`)

describe.each([
  ["light", 0],
  ["dark", 1]
] as const)("colours of curves, %s", (_, theme) => {
  const palette = names.map((name) => pairOf(name)[theme])

  it.each(Object.keys(visions))("are told apart with %s", (vision) => {
    const seen = palette.map((color) => lab(seenAs(color, visions[vision]!)))
    for (const [at, [l, a, b]] of seen.entries()) {
      for (const [before, other] of seen.slice(0, at).entries()) {
        const distance = Math.hypot(l - other[0], a - other[1], b - other[2])
        // A difference of 2 is seen side by side; lines lie apart.
        assert.isAbove(distance, 19, `${names[before]} and ${names[at]}`)
      }
    }
  })

  it("stand out against the page", () => {
    const surface = luminance(pairOf("surface")[theme])
    for (const [at, color] of palette.entries()) {
      const [high, low] = [luminance(color), surface].sort((left, right) => right - left) as [number, number]
      assert.isAbove((high + 0.05) / (low + 0.05), 3, names[at])
    }
  })
})
