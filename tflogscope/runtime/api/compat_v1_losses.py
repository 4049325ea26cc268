"""`tf.compat.v1.losses`."""

from __future__ import annotations

from tflogscope.runtime import losses_v1
from tflogscope.runtime.api.missing import missing

Reduction = losses_v1.Reduction
absolute_difference = losses_v1.absolute_difference
add_loss = losses_v1.add_loss
compute_weighted_loss = losses_v1.compute_weighted_loss
get_losses = losses_v1.get_losses
get_regularization_loss = losses_v1.get_regularization_loss
get_regularization_losses = losses_v1.get_regularization_losses
get_total_loss = losses_v1.get_total_loss
huber_loss = losses_v1.huber_loss
log_loss = losses_v1.log_loss
mean_squared_error = losses_v1.mean_squared_error
sigmoid_cross_entropy = losses_v1.sigmoid_cross_entropy
softmax_cross_entropy = losses_v1.softmax_cross_entropy
sparse_softmax_cross_entropy = losses_v1.sparse_softmax_cross_entropy

__getattr__ = missing("tf.compat.v1.losses")
