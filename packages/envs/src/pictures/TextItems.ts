/**
 * Generates receipts and signs to read. Pure: a seeded draw determines the lines, their SVG, a question and its answer.
 */
import type { SeededRandom } from "@atropos/core"

export type Kind = "receipt-total" | "receipt-item" | "sign"

export interface Written {
  readonly kind: Kind
  readonly svg: string
  readonly question: string
  readonly answer: string
}

const goods = [
  "apples",
  "bread",
  "butter",
  "cheese",
  "coffee",
  "eggs",
  "flour",
  "grapes",
  "honey",
  "jam",
  "lemons",
  "milk",
  "noodles",
  "olives",
  "onions",
  "pears",
  "pepper",
  "rice",
  "salt",
  "sugar",
  "tea",
  "tomatoes",
  "walnuts",
  "yoghurt"
] as const
const shops = ["CORNER STORE", "MARKET HALL", "GREEN GROCER", "NIGHT SHOP", "HARBOUR DELI"] as const

const places = [
  "Mill Lane",
  "Station Road",
  "North Bridge",
  "Castle Hill",
  "River Walk",
  "Old Harbour",
  "Museum",
  "Town Hall"
] as const
const signs: ReadonlyArray<(random: SeededRandom.SeededRandom) => string> = [
  (random) => `${random.pick(places)} ${random.between(1, 99)}`,
  (random) => `Exit ${random.between(2, 88)} ${random.pick(places)}`,
  (random) => `Bus ${random.between(1, 240)} to ${random.pick(places)}`,
  (random) => `Open ${random.between(6, 10)}:${random.pick(["00", "15", "30", "45"])} to ${random.between(16, 22)}:00`,
  (random) => `Platform ${random.between(1, 24)} ${random.pick(["A", "B", "C"])}`
]

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;")

const cents = (amount: number): string => `${Math.floor(amount / 100)}.${String(amount % 100).padStart(2, "0")}`

const receipt = (random: SeededRandom.SeededRandom, kind: "receipt-total" | "receipt-item"): Written => {
  const bought = random.sample(goods, random.between(2, 6)).map((name) => ({ name, price: random.between(45, 1999) }))
  const total = bought.reduce((sum, { price }) => sum + price, 0)
  const width = 22
  const line = (name: string, price: number) => name.padEnd(width - cents(price).length) + cents(price)
  const lines = [
    random.pick(shops),
    `No. ${random.between(1000, 9999)}`,
    "",
    ...bought.map(({ name, price }) => line(name, price)),
    "-".repeat(width),
    line("TOTAL", total)
  ]
  const height = 30 + lines.length * 22
  const texts = lines.map(
    (text, index) => `<text x="20" y="${36 + index * 22}" xml:space="preserve">${escape(text)}</text>`
  )
  const article = random.pick(bought)
  return {
    kind,
    svg: `<svg xmlns="http://www.w3.org/2000/svg" width="312" height="${height}"><rect width="100%" height="100%" fill="#fdfdf8"/><g font-family="DejaVu Sans Mono" font-size="16" fill="#222">${texts.join("")}</g></svg>`,
    ...(kind === "receipt-total"
      ? { question: "What is the total of this receipt? Answer with the amount, like 12.30.", answer: cents(total) }
      : {
          question: `What do the ${article.name} cost? Answer with the amount, like 12.30.`,
          answer: cents(article.price)
        })
  }
}

const sign = (random: SeededRandom.SeededRandom): Written => {
  const text = random.pick(signs)(random)
  const [ground, ink] = random.pick([
    ["#0b5d3b", "#fff"],
    ["#1a3f8b", "#fff"],
    ["#fff", "#111"],
    ["#f2c80f", "#111"]
  ] as const)
  const width = 60 + text.length * 20
  const tilt = random.between(-4, 4)
  return {
    kind: "sign",
    svg: `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="140"><rect width="100%" height="100%" fill="#c9d3d8"/><g transform="rotate(${tilt} ${width / 2} 70)"><rect x="12" y="35" width="${width - 24}" height="70" rx="10" fill="${ground}" stroke="${ink}" stroke-width="3"/><text x="${width / 2}" y="81" text-anchor="middle" font-family="${random.pick(["DejaVu Sans", "DejaVu Serif"])}" font-size="30" fill="${ink}">${escape(text)}</text></g></svg>`,
    question: "What does the sign say? Answer with its words and numbers, exactly.",
    answer: text
  }
}

export const draw = (random: SeededRandom.SeededRandom, kinds: ReadonlyArray<Kind>): Written => {
  const kind = random.pick(kinds)
  return kind === "sign" ? sign(random) : receipt(random, kind)
}
