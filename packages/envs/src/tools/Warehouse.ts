/** Generates a warehouse, and questions about it that only its tools can answer. Pure: seeded. */
import { SeededRandom } from "@atropos/core"

const articles = ["bolts", "clamps", "gaskets", "hinges", "pulleys", "valves"] as const
const shelves = ["north", "east", "south", "west"] as const

export interface Warehouse {
  readonly articles: ReadonlyArray<string>
  readonly shelves: ReadonlyArray<string>
  /** Pieces by article and shelf. */
  readonly pieces: ReadonlyMap<string, number>
  /** Cents by article. */
  readonly prices: ReadonlyMap<string, number>
}

export const make = (seed: number): Warehouse => {
  const random = SeededRandom.seeded(seed, 0)
  return {
    articles,
    shelves,
    pieces: new Map(
      articles.flatMap((article) => shelves.map((shelf) => [`${article} ${shelf}`, random.between(0, 40)] as const))
    ),
    prices: new Map(articles.map((article) => [article, random.between(5, 400)] as const))
  }
}

export const count = ({ pieces }: Warehouse, article: string, shelf: string): number | undefined =>
  pieces.get(`${article} ${shelf}`)

export interface Question {
  readonly question: string
  readonly answer: string
}

/** A question that takes one to five calls. */
export const ask = (warehouse: Warehouse, random: SeededRandom.SeededRandom): Question => {
  const article = random.pick(warehouse.articles)
  const shelf = random.pick(warehouse.shelves)
  const onShelf = count(warehouse, article, shelf)!
  const price = warehouse.prices.get(article)!
  switch (random.between(0, 2)) {
    case 0:
      return { question: `How many ${article} lie on the shelf ${shelf}?`, answer: String(onShelf) }
    case 1:
      return {
        question: `What are all ${article} on the shelf ${shelf} worth together, in cents?`,
        answer: String(onShelf * price)
      }
    default:
      return {
        question: `How many ${article} are there on all shelves together?`,
        answer: String(warehouse.shelves.reduce((sum, one) => sum + count(warehouse, article, one)!, 0))
      }
  }
}
