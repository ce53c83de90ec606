"""A Keras model's precision: the policies of its layers, of its loss and its optimizer, on any backend.

Keras' own normalisations compute in float32 whatever their policy (keras/src/layers/normalization), so only those of
others count. Source of the loss' dtype: keras/src/losses/loss.py, `floatx()` unless said.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.train.precision.observed import Observed


def observe_keras(keras: Any, model: Any, sample: Any = None) -> Observed:
    """What the layers, the loss and the optimizer of `model` say. Cost: with `sample`, a symbolic call at most."""
    layers = [(name, layer) for name, layer in _layers(model) if layer.compute_dtype == "float16"]
    compiled = bool(getattr(model, "compiled", False))
    return Observed(
        name=model.name,
        losses=tuple(_half_losses(keras, model)) if compiled else (),
        softmaxes=tuple(name for name, layer in layers if _is_softmax(keras, layer)),
        norms=tuple(name for name, layer in layers if _is_foreign_norm(layer)),
        outputs=tuple(_outputs(keras, model, sample)),
        computes_in_float16=any(_own_weights(layer) for _, layer in layers),
        is_loss_scaled=_is_scaled(keras, model.optimizer) if compiled and model.optimizer is not None else None,
        loss_advice='give the loss dtype="float32"',
        softmax_advice='give the layer dtype="float32", or leave the softmax to the loss (from_logits=True)',
        norm_advice='cast to float32 within its call, or give the layer dtype="float32"',
        output_advice='give the last layer dtype="float32", or end with Activation("linear", dtype="float32")',
        scaling_advice="compile(auto_scale_loss=True), which is the default, or keras.optimizers.LossScaleOptimizer",
    )


def _layers(model: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Each layer with its name below the model ("attention/softmax"), also those that layers keep to themselves."""
    inner = getattr(model, "_flatten_layers", None)
    for layer in getattr(model, "layers", ()) if inner is None else inner(include_self=False, recursive=False):
        name = f"{above}{layer.name}"
        yield name, layer
        yield from _layers(layer, f"{name}/")


def _own_weights(layer: Any) -> Any:
    """What it trains itself, without what the layers in it do: those have policies of their own."""
    return getattr(layer, "_trainable_variables", layer.trainable_variables)


def _is_softmax(keras: Any, layer: Any) -> bool:
    functions = (keras.activations.softmax, getattr(keras.activations, "log_softmax", None))
    return isinstance(layer, keras.layers.Softmax) or getattr(layer, "activation", "") in functions


def _is_foreign_norm(layer: Any) -> bool:
    kind = type(layer)
    return "norm" in kind.__name__.lower() and not kind.__module__.startswith("keras.")


def _half_losses(keras: Any, model: Any) -> Iterator[str]:
    for loss in keras.tree.flatten(model.loss):
        dtype = loss.dtype if isinstance(loss, keras.losses.Loss) else keras.config.floatx()
        if loss is not None and dtype == "float16":
            yield str(getattr(loss, "name", loss))


def _outputs(keras: Any, model: Any, sample: Any) -> Iterator[tuple[str, str]]:
    outputs = getattr(model, "outputs", None)
    if not outputs:
        if sample is None:
            return
        inputs = keras.tree.map_structure(
            lambda leaf: keras.KerasTensor(leaf.shape, dtype=keras.backend.standardize_dtype(leaf.dtype)), sample
        )
        outputs = keras.tree.flatten(model.compute_output_spec(inputs))
    names = list(getattr(model, "output_names", None) or ())
    for number, output in enumerate(outputs):
        yield names[number] if number < len(names) else f"output {number}", str(output.dtype)


def _is_scaled(keras: Any, optimizer: Any) -> bool:
    return isinstance(optimizer, keras.optimizers.LossScaleOptimizer) or optimizer.loss_scale_factor is not None
