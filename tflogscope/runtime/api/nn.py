"""`tf.nn`."""

from __future__ import annotations

from tflogscope.runtime.api import nn_experimental as experimental
from tflogscope.runtime.api.missing import missing
from tflogscope.runtime.library import atrous as _atrous
from tflogscope.runtime.library import convolution as _convolution
from tflogscope.runtime.library import elementary, nn, normalization, reductions
from tflogscope.runtime.library import volumes as _volumes

avg_pool = _convolution.avg_pool
avg_pool1d = _convolution.avg_pool1d
avg_pool2d = _convolution.avg_pool2d
avg_pool3d = _volumes.avg_pool3d
batch_normalization = normalization.batch_normalization
bias_add = nn.bias_add
conv1d = _convolution.conv1d
conv1d_transpose = _convolution.conv1d_transpose
conv2d = _convolution.conv2d
conv2d_transpose = _convolution.conv2d_transpose
conv3d = _volumes.conv3d
conv3d_transpose = _volumes.conv3d_transpose
convolution = _convolution.convolution
crelu = nn.crelu
depth_to_space = _convolution.depth_to_space
depthwise_conv2d = _convolution.depthwise_conv2d
dropout = normalization.dropout
elu = nn.elu
embedding_lookup = nn.embedding_lookup
gelu = nn.gelu
in_top_k = nn.in_top_k
l2_loss = nn.l2_loss
l2_normalize = reductions.l2_normalize
leaky_relu = nn.leaky_relu
local_response_normalization = lrn = nn.local_response_normalization
log_poisson_loss = nn.log_poisson_loss
log_softmax = nn.log_softmax
max_pool = _convolution.max_pool
max_pool1d = _convolution.max_pool1d
max_pool2d = _convolution.max_pool2d
max_pool3d = _volumes.max_pool3d
max_pool_with_argmax = _convolution.max_pool_with_argmax
moments = normalization.moments
normalize_moments = normalization.normalize_moments
relu = nn.relu
relu6 = nn.relu6
selu = nn.selu
separable_conv2d = _convolution.separable_conv2d
sigmoid = elementary.sigmoid
sigmoid_cross_entropy_with_logits = nn.sigmoid_cross_entropy_with_logits
silu = swish = nn.silu
softmax = nn.softmax
softmax_cross_entropy_with_logits = nn.softmax_cross_entropy_with_logits
softplus = nn.softplus
softsign = nn.softsign
space_to_batch = _atrous.space_to_batch
space_to_depth = _convolution.space_to_depth
sparse_softmax_cross_entropy_with_logits = nn.sparse_softmax_cross_entropy_with_logits
sufficient_statistics = normalization.sufficient_statistics
tanh = elementary.tanh
top_k = reductions.top_k
weighted_moments = normalization.weighted_moments
weighted_cross_entropy_with_logits = nn.weighted_cross_entropy_with_logits
zero_fraction = reductions.zero_fraction

__all__ = ["experimental"]
__getattr__ = missing("tf.nn")
