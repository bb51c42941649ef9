// RocketMQ as its own client drives it: asynchronous sends, and a push consumer in POP mode, which acks each message.
//   java -cp DIR:JARS RocketPeer --address NAMESRV --name TOPIC [--batch N] [--unanswered N] [--size N]
// The topic and its consume mode are made before (mqadmin updateTopic, setConsumeMode). Its acks are not answered.
import java.util.ArrayList;
import java.util.List;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

public class RocketPeer extends Rounds {
  final String topic;
  final DefaultMQProducer producer;
  final DefaultMQPushConsumer consumer;

  RocketPeer(String address, String topic, int size, int batch, int unanswered) throws Exception {
    super(size, batch, unanswered);
    this.topic = topic;
    producer = new DefaultMQProducer(topic + "-producer");
    producer.setNamesrvAddr(address);
    producer.setSendMsgTimeout(20_000);
    producer.start();
    consumer = new DefaultMQPushConsumer(topic + "-group");
    consumer.setNamesrvAddr(address);
    consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
    consumer.setClientRebalance(false);  // POP: the broker shares the queues out
    consumer.setPopBatchNums(32);        // the most that it allows
    consumer.setPullBatchSize(32);
    consumer.setConsumeMessageBatchMaxSize(32);
    consumer.subscribe(topic, "*");
    consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
      for (MessageExt message : messages) delivered(message.getBody());
      acked(messages.size());
      return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
    });
    consumer.start();
  }

  @Override
  void publish(int from, int count) throws Exception {
    List<Message> messages = new ArrayList<>(count);
    for (int number = from; number < from + count; number++) messages.add(new Message(topic, event(number)));
    send(messages);
  }

  // A broker that is busy refuses, and its client is to try again.
  void send(List<Message> messages) throws Exception {
    SendCallback callback = new SendCallback() {
      @Override
      public void onSuccess(SendResult result) {
        confirmed(messages.size());
      }

      @Override
      public void onException(Throwable error) {
        if (!("" + error.getMessage()).contains("busy")) {
          failed(error);
          return;
        }
        try {
          send(messages);
        } catch (Exception again) {
          failed(again);
        }
      }
    };
    if (messages.size() == 1) producer.send(messages.get(0), callback); else producer.send(messages, callback);
  }

  public static void main(String[] arguments) throws Exception {
    RocketPeer peer = new RocketPeer(option(arguments, "--address", ""), option(arguments, "--name", "bench"),
        number(arguments, "--size", 256), number(arguments, "--batch", 1), number(arguments, "--unanswered", 500));
    peer.run();
    System.exit(0);
  }
}
