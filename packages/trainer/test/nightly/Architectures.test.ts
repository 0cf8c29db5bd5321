/** Every architecture of `scripts/make-architecture-fixtures.py` beside transformers. */
import * as Architectures from "../model/Architectures.ts"
import { suite } from "../model/ArchitectureSuite.ts"

suite(Architectures.names)
