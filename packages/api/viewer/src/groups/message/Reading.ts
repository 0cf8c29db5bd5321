/** How messages are read on a page: as written (`isSource`), and with all reasoning unfolded. */
import { createContext } from "react"

export interface ReadingMode {
  readonly isSource: boolean
  readonly unfolds: boolean
}

export const Reading = createContext<ReadingMode>({ isSource: false, unfolds: false })
