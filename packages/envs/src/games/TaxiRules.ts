/**
 * Implements the rules of Gymnasium's Taxi (without rain and fickle passengers): five by five squares with walls, four
 * landmarks, one passenger.
 *
 * A state is Gymnasium's number: ((row * 5 + column) * 5 + passenger) * 4 + destination; passenger 4 is in the taxi.
 * Every action costs 1, picking up or dropping off in a wrong place 10; delivering pays 20. Source:
 * gymnasium/envs/toy_text/taxi.py, after Dietterich, Hierarchical Reinforcement Learning with the MAXQ Value Function
 * Decomposition (2000).
 */
export const actions = ["south", "north", "east", "west", "pickup", "dropoff"] as const
export type Action = (typeof actions)[number]

const size = 5
const inTaxi = 4
const states = size * size * 5 * 4

/** A wall is east of each of these squares. */
export const walls: ReadonlyArray<readonly [row: number, column: number]> = [
  [0, 1],
  [1, 1],
  [3, 0],
  [3, 2],
  [4, 0],
  [4, 2]
]

const hasEastWall = (row: number, column: number): boolean =>
  walls.some(([wallRow, wallColumn]) => wallRow === row && wallColumn === column)

export interface Landmark {
  readonly name: string
  readonly row: number
  readonly column: number
}

/** In the order of Gymnasium's numbers. */
export const landmarks: ReadonlyArray<Landmark> = [
  { name: "red", row: 0, column: 0 },
  { name: "green", row: 0, column: 4 },
  { name: "yellow", row: 4, column: 0 },
  { name: "blue", row: 4, column: 3 }
]

export interface Position {
  readonly row: number
  readonly column: number
  /** Index of the landmark where the passenger waits; 4: in the taxi. */
  readonly passenger: number
  readonly destination: number
}

export const encode = ({ column, destination, passenger, row }: Position): number =>
  ((row * size + column) * 5 + passenger) * 4 + destination

export const decode = (state: number): Position => ({
  row: Math.floor(state / 100),
  column: Math.floor(state / 20) % size,
  passenger: Math.floor(state / 4) % 5,
  destination: state % 4
})

export const isInTaxi = ({ passenger }: Position): boolean => passenger === inTaxi

/** Possible start states: the passenger does not wait at the destination. */
export const starts: ReadonlyArray<number> = Array.from({ length: states }, (_, state) => state).filter((state) => {
  const { destination, passenger } = decode(state)
  return passenger !== inTaxi && passenger !== destination
})

export interface Outcome {
  readonly state: number
  readonly reward: number
  readonly isOver: boolean
}

const canGo = (row: number, column: number, action: Action): boolean => {
  switch (action) {
    case "south":
      return row < size - 1
    case "north":
      return row > 0
    case "east":
      return column < size - 1 && !hasEastWall(row, column)
    case "west":
      return column > 0 && !hasEastWall(row, column - 1)
    default:
      return false
  }
}

/** The actions that change the state without a penalty. */
export const sensible = (state: number): ReadonlyArray<Action> =>
  actions.filter((action) => {
    const { reward, state: next } = act(state, action)
    return reward !== -10 && next !== state
  })

export const act = (state: number, action: Action): Outcome => {
  const at = decode(state)
  const here = landmarks.findIndex(({ column, row }) => row === at.row && column === at.column)
  const moved = (change: Partial<Position>): Outcome => ({
    state: encode({ ...at, ...change }),
    reward: -1,
    isOver: false
  })
  const refused: Outcome = { state, reward: -10, isOver: false }
  if (action === "pickup") return here !== -1 && here === at.passenger ? moved({ passenger: inTaxi }) : refused
  if (action === "dropoff") {
    if (here === -1 || !isInTaxi(at)) return refused
    return here === at.destination
      ? { state: encode({ ...at, passenger: here }), reward: 20, isOver: true }
      : moved({ passenger: here })
  }
  if (!canGo(at.row, at.column, action)) return moved({})
  return action === "south" || action === "north"
    ? moved({ row: at.row + (action === "south" ? 1 : -1) })
    : moved({ column: at.column + (action === "east" ? 1 : -1) })
}

/** Fewest actions from every state to delivery, including the last one; by backward breadth-first search. */
const fewest: ReadonlyArray<number> = (() => {
  const before = Array.from({ length: states }, (): Array<number> => [])
  const distances = Array.from({ length: states }, () => Number.POSITIVE_INFINITY)
  let frontier: Array<number> = []
  for (let state = 0; state < states; state++) {
    for (const action of actions) {
      const next = act(state, action)
      if (next.isOver) {
        distances[state] = 1
        frontier.push(state)
      } else if (next.reward === -1) before[next.state]!.push(state)
    }
  }
  for (let distance = 2; frontier.length > 0; distance++) {
    const more: Array<number> = []
    for (const state of frontier.flatMap((reached) => before[reached]!)) {
      if (Number.isFinite(distances[state]!)) continue
      distances[state] = distance
      more.push(state)
    }
    frontier = more
  }
  return distances
})()

/** V(s): the best return from here, 20 for the delivery and -1 for every action before it. */
export const value = (state: number): number => 21 - fewest[state]!

export const shortestWay = (state: number): ReadonlyArray<Action> => {
  const best = actions.find((action) => {
    const { isOver, reward, state: next } = act(state, action)
    return isOver || (reward === -1 && fewest[next]! < fewest[state]!)
  })!
  const { isOver, state: next } = act(state, best)
  return isOver ? [best] : [best, ...shortestWay(next)]
}
