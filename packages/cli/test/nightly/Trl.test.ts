/** TRL's own GRPOTrainer on the trajectory service, over a learning curve and kills. */
import * as Pytest from "../trl/Pytest.ts"

Pytest.suite([
  ["test_learning.py", "learns from an environment that its own policy answers"],
  ["test_processes.py", "gets the batch of a killed trainer again, and loses and repeats none"]
])
