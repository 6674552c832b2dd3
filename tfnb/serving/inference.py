"""Predict, Classify, Regress and MultiInference, for the threads of both interfaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tfnb.core import errors
from tfnb.proto.inference_pb2 import InferenceResult, MultiInferenceResponse
from tfnb.serving.examples import classification, regression, value_of_examples
from tfnb.serving.served_model import CLASSIFY, REGRESS, filtered, values_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tfnb.client.model_function import ModelFunction
    from tfnb.proto.classification_pb2 import ClassificationResult
    from tfnb.proto.inference_pb2 import MultiInferenceRequest
    from tfnb.proto.input_pb2 import Input
    from tfnb.proto.regression_pb2 import RegressionResult
    from tfnb.serving.model_runner import ModelRunner
    from tfnb.serving.served_model import ServedModel

    # Says whether the client still waits.
    _IsWanted = Callable[[], bool]


class Inference:
    """Runs the signatures of a served model.

    Attributes:
        served: The model.
        runner: What runs it.
    """

    def __init__(self, served: ServedModel, runner: ModelRunner) -> None:
        self.served, self.runner = served, runner

    def predict(
        self,
        function: ModelFunction,
        values: Mapping[str, Any],
        wanted: Iterable[str] = (),
        is_wanted: _IsWanted | None = None,
    ) -> dict[str, Any]:
        """Return the outputs for arrays.

        Args:
            function: The function of a signature.
            values: Key of an input -> its array.
            wanted: Keys of outputs; all if empty.
            is_wanted: Returns whether the client still waits.

        Raises:
            OpError: The values do not fit, or the model failed.
        """
        wanted = list(wanted)
        if wanted:
            filtered(function, function.outputs, wanted)  # before the model runs
        results = self.runner.run(function, values_for(function, values), is_wanted)
        return filtered(function, results, wanted)

    def predict_if_short(
        self, function: ModelFunction, values: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Return the outputs for arrays; None if that would wait, or take longer.

        Args:
            function: The function of a signature.
            values: Key of an input -> its array.

        Raises:
            OpError: The values do not fit, or the model failed.
        """
        results = self.runner.run_if_short(function, values_for(function, values))
        return None if results is None else filtered(function, results)

    def classify(
        self, function: ModelFunction, given: Input, is_wanted: _IsWanted | None = None
    ) -> ClassificationResult:
        """Return the classes of examples.

        Raises:
            OpError: The signature takes no examples, or the model failed.
        """
        values = value_of_examples(function, given)
        outputs = self.predict(function, values, is_wanted=is_wanted)
        return classification(outputs, len(next(iter(values.values()))))

    def regress(
        self, function: ModelFunction, given: Input, is_wanted: _IsWanted | None = None
    ) -> RegressionResult:
        """Return the values of examples.

        Raises:
            OpError: The signature takes no examples, or the model failed.
        """
        values = value_of_examples(function, given)
        outputs = self.predict(function, values, is_wanted=is_wanted)
        return regression(outputs, len(next(iter(values.values()))))

    def multi_inference(
        self, request: MultiInferenceRequest, is_wanted: _IsWanted | None = None
    ) -> MultiInferenceResponse:
        """Return the results of several classifiers and regressors on the same examples.

        Raises:
            OpError: A task is not valid, or the model failed.
        """
        if not request.tasks:
            raise errors.invalid_argument("Inference request must have at least one task.")
        functions = []
        for task in request.tasks:
            self.served.check_asked_for(task.model_spec)
            if task.method_name not in (CLASSIFY, REGRESS):
                raise errors.unimplemented(
                    f"Unsupported signature method_name: {task.method_name}. There are {CLASSIFY} "
                    f"and {REGRESS}."
                )
            key = task.model_spec.signature_name
            functions.append(self.served.function(key, task.method_name))
        found = MultiInferenceResponse()
        for task, function in zip(request.tasks, functions):
            spec = self.served.spec(task.model_spec.signature_name)
            result = InferenceResult(model_spec=spec)
            if task.method_name == CLASSIFY:
                classes = self.classify(function, request.input, is_wanted)
                result.classification_result.CopyFrom(classes)
            else:
                values = self.regress(function, request.input, is_wanted)
                result.regression_result.CopyFrom(values)
            found.results.append(result)
        return found
