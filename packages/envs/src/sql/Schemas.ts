/**
 * Defines the tables of generated questions, with the words to describe them.
 *
 * A table has a key, a name for every thing, categories, numbers that differ between its things, and at most one
 * parent: enough for typical database questions. Words are chosen so that questions can be composed of them.
 */

/** A column of few different texts. */
export interface Category {
  readonly column: string
  readonly label: string
  readonly values: ReadonlyArray<string>
}

export interface Quantity {
  readonly column: string
  readonly label: string
  readonly least: number
  readonly max: number
}

export interface TableShape {
  readonly table: string
  /** Singular and plural, in questions. */
  readonly one: string
  readonly many: string
  /** Names of its things combine one of each. */
  readonly names: readonly [ReadonlyArray<string>, ReadonlyArray<string>]
  readonly category: Category
  readonly quantities: readonly [Quantity, Quantity]
}

/** Rows of the child table belong to rows of the parent table. */
export interface DatabaseShape {
  readonly parent: TableShape
  readonly child: TableShape
}

const firstNames = ["Ada", "Ben", "Cara", "Dan", "Eva", "Finn", "Gia", "Hugo", "Iris", "Jon", "Kim", "Leo"]
const lastNames = ["Abel", "Berg", "Cole", "Dorn", "Ellis", "Frey", "Gray", "Holm", "Iqbal", "Jung", "Kent", "Lund"]
const places = ["North", "South", "East", "West", "Old", "New", "Upper", "Lower", "Little", "Great"]
const grounds = ["Bridge", "Field", "Harbor", "Hill", "Lake", "Market", "Mill", "Park", "River", "Valley"]
const adjectives = ["Amber", "Bright", "Calm", "Dark", "Early", "Frozen", "Golden", "Hidden", "Iron", "Silent"]
const nouns = ["Arrow", "Bell", "Cloud", "Door", "Engine", "Forest", "Garden", "Lantern", "Mirror", "Tower"]

export const databases: ReadonlyArray<DatabaseShape> = [
  {
    parent: {
      table: "department",
      one: "department",
      many: "departments",
      names: [places, ["Sales", "Support", "Research", "Design", "Finance", "Legal", "Logistics", "Training"]],
      category: { column: "city", label: "city", values: ["Lima", "Oslo", "Porto", "Quito"] },
      quantities: [
        { column: "budget", label: "budget", least: 100, max: 900 },
        { column: "founded", label: "founding year", least: 1950, max: 2020 }
      ]
    },
    child: {
      table: "employee",
      one: "employee",
      many: "employees",
      names: [firstNames, lastNames],
      category: { column: "role", label: "role", values: ["analyst", "clerk", "engineer", "manager"] },
      quantities: [
        { column: "salary", label: "salary", least: 2000, max: 9000 },
        { column: "age", label: "age", least: 20, max: 66 }
      ]
    }
  },
  {
    parent: {
      table: "airport",
      one: "airport",
      many: "airports",
      names: [places, grounds],
      category: { column: "country", label: "country", values: ["Chile", "Kenya", "Norway", "Vietnam"] },
      quantities: [
        { column: "gates", label: "number of gates", least: 4, max: 120 },
        { column: "elevation", label: "elevation", least: 0, max: 2500 }
      ]
    },
    child: {
      table: "flight",
      one: "flight",
      many: "flights",
      names: [
        ["AX", "BR", "CT", "DL", "EM"],
        ["101", "117", "204", "233", "318", "342", "405", "479", "511", "560"]
      ],
      category: { column: "status", label: "status", values: ["boarding", "cancelled", "delayed", "landed"] },
      quantities: [
        { column: "passengers", label: "number of passengers", least: 20, max: 320 },
        { column: "distance", label: "distance", least: 150, max: 9000 }
      ]
    }
  },
  {
    parent: {
      table: "author",
      one: "author",
      many: "authors",
      names: [firstNames, lastNames],
      category: { column: "language", label: "language", values: ["Czech", "English", "Hindi", "Spanish"] },
      quantities: [
        { column: "born", label: "year of birth", least: 1900, max: 1999 },
        { column: "awards", label: "number of awards", least: 0, max: 60 }
      ]
    },
    child: {
      table: "book",
      one: "book",
      many: "books",
      names: [adjectives, nouns],
      category: { column: "genre", label: "genre", values: ["crime", "essay", "poetry", "romance"] },
      quantities: [
        { column: "pages", label: "number of pages", least: 60, max: 900 },
        { column: "year", label: "year of publication", least: 1925, max: 2024 }
      ]
    }
  },
  {
    parent: {
      table: "store",
      one: "store",
      many: "stores",
      names: [grounds, ["Corner", "Hall", "House", "Place", "Point", "Square"]],
      category: { column: "region", label: "region", values: ["coast", "hills", "islands", "plains"] },
      quantities: [
        { column: "area", label: "floor area", least: 80, max: 3000 },
        { column: "opened", label: "opening year", least: 1970, max: 2024 }
      ]
    },
    child: {
      table: "product",
      one: "product",
      many: "products",
      names: [adjectives, ["Chair", "Clock", "Desk", "Lamp", "Mug", "Plate", "Rug", "Shelf", "Sofa", "Vase"]],
      category: { column: "material", label: "material", values: ["cotton", "glass", "steel", "wood"] },
      quantities: [
        { column: "price", label: "price", least: 5, max: 990 },
        { column: "stock", label: "stock", least: 0, max: 400 }
      ]
    }
  },
  {
    parent: {
      table: "team",
      one: "team",
      many: "teams",
      names: [places, ["Bears", "Comets", "Foxes", "Hawks", "Lions", "Otters", "Sharks", "Wolves"]],
      category: { column: "league", label: "league", values: ["blue", "gold", "green", "red"] },
      quantities: [
        { column: "points", label: "number of points", least: 3, max: 99 },
        { column: "members", label: "number of members", least: 200, max: 9000 }
      ]
    },
    child: {
      table: "player",
      one: "player",
      many: "players",
      names: [firstNames, lastNames],
      category: { column: "position", label: "position", values: ["defender", "forward", "goalkeeper", "midfielder"] },
      quantities: [
        { column: "goals", label: "number of goals", least: 0, max: 60 },
        { column: "height", label: "height", least: 155, max: 210 }
      ]
    }
  }
]
